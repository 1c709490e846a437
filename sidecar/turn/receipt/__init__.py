"""The receipt of an assembly: written, read, and compared with another one."""
