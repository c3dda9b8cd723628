// How V8 is set up for a daemon: for the main thread and for the worker threads, which start later.
// V1. The flags are set before anything else is loaded, so this file loads nothing of Beaver's: the entry says whether they are on.
import { setFlagsFromString } from 'node:v8'

export function setV8Flags(): void {
  // What a task leaves behind is garbage, and little else; V8 is kept from guessing otherwise. Once it has seen the objects of some
  // place in the code survive, as they do while it warms up, it makes all further ones of that place old at once, and old garbage
  // keeps young garbage alive (docs/decisions/0022).
  setFlagsFromString('--no-allocation-site-pretenuring')
  // A small old space would be collected every second.
  setFlagsFromString('--initial-old-space-size=128')
}
