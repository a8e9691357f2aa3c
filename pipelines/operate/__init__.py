"""Operate: running it every day. Jobs, schedules and sensors, dead runs, notices, maintenance, the doctor."""
