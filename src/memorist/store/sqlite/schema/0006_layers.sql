-- A generation is for some layers: what lies on others has vectors of another model. Those from before were for all. A process of
-- the version before takes every generation for one of all layers; what it puts on a layer that is not the generation's is not read.
ALTER TABLE generations ADD COLUMN layers TEXT NOT NULL DEFAULT 'memory turns documents archive';
ALTER TABLE generations ADD COLUMN lost TEXT NOT NULL DEFAULT '';   -- layers with vectors that wait to be dropped
