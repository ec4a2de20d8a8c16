#!/bin/sh
# spec-fallback.sh <reason>: notes that a unit could not be assigned and is taken as code for the default agent.
set -eu

echo "No agent could decide who owns this: ${1:-no reason is known}. It is taken as code, for the default agent."
