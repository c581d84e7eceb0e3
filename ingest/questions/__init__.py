"""Questions of users, made into problems."""
