"""What an operator may turn and what is to be built: settings, editions, limits on time. Nothing here touches data."""
