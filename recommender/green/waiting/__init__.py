"""Commands that wait for a clean time: their request, their state, their process and the waiter itself."""
