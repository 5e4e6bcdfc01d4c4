"""The surfaces of the engine. Each is thin: it reads the user's request, calls the facade's verb and shows the answer."""
