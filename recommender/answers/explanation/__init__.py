"""Why a recommendation was made, in sections that a person can read."""
