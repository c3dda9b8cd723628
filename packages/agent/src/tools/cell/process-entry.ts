// The entry of a process cell.
import { serveCell } from './serve-call.ts'

serveCell({
  postMessage: (message) => void process.send?.(message),
  on: (event, listener) => process.on(event, listener),
})
