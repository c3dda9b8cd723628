// The entry of a thread cell: it serves one call and gives one answer.
import { parentPort, workerData } from 'node:worker_threads'
import type { CellAbort, CellCall } from './cell-call.ts'
import { serveCall } from './serve-call.ts'

const stop = new AbortController()
parentPort?.once('message', ({ abort }: CellAbort) => stop.abort(abort))
const tell = (what: object): void => parentPort?.postMessage(what, [])
tell(await serveCall(workerData as CellCall, stop.signal, tell))
