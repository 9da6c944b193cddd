#!/bin/sh
# Makes a small picture. What it works on is in the environment, and the input of the task on standard input.
case "$TASKSTREAM_IDENTIFIER" in
  *.png) echo "$TASKSTREAM_IDENTIFIER is $2 pixels wide" ;;
  *) echo "$TASKSTREAM_IDENTIFIER is no picture" >&2; exit 65 ;;
esac
