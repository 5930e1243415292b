"""Generated protobuf code; README.rst says how it is made.  Not part of the public interface."""
