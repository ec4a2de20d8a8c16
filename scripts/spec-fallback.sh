#!/bin/sh
# spec-fallback.sh <reason>: notes that a unit could not be assigned and is taken as code for the default agent.
set -eu

echo "Nobody could be asked whose this is: ${1:-no reason is known}. It is taken as code, for the default agent."
