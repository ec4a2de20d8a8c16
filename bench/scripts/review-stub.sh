#!/bin/bash
# The agent of the case `local`: approves in self_review, works as the stub does everywhere else.
if [ "$SIGNALBOX_PHASE" = self_review ]; then
  echo '<signalbox>{"outcome":"pass","summary":"It is done.","findings":[]}</signalbox>'
else
  exec "$BENCH_STUB"
fi
