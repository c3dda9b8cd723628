// The entry of a process cell: one call, one answer, then the end.
import type { CellAbort, CellCall } from './cell-call.ts'
import { serveCall } from './serve-call.ts'

const stop = new AbortController()
process.once('message', (call: CellCall) => {
  process.once('message', ({ abort }: CellAbort) => stop.abort(abort))
  void serveCall(call, stop.signal).then((answer) => process.send?.(answer))
})
