"""How long something takes, in words."""


def duration(seconds: float) -> str:
    """ "40 s", "12 min", "3 h 20 min", "2 days 4 h": two numbers at most."""
    if round(seconds) < 60:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    large, small, parts = ("h", "min", divmod(minutes, 60))
    if minutes >= 48 * 60:
        large, small, parts = ("days", "h", divmod(round(minutes / 60), 24))
    return f"{parts[0]} {large} {parts[1]} {small}" if parts[1] else f"{parts[0]} {large}"
