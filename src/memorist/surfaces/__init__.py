"""The doors to the engine. Each is thin: it reads what the user asked, calls the facade's verb and shows the answer."""
