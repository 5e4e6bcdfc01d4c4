"""What keeps a store in order over time: jobs that propose, and one runner that does."""
