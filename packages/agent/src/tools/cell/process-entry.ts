// The entry of a process cell: it serves one call, gives one answer, and ends.
import type { CellAbort, CellAnswer, CellCall, CellProgress, CellStarted } from './cell-call.ts'
import { serveCall } from './serve-call.ts'

const stop = new AbortController()
process.once('message', (call: CellCall) => {
  process.once('message', ({ abort }: CellAbort) => stop.abort(abort))
  const tell = (what: CellAnswer | CellStarted | CellProgress): void => void process.send?.(what)
  void serveCall(call, stop.signal, tell).then(tell)
})
