// The entry of a thread cell.
import { parentPort } from 'node:worker_threads'
import { serveCell } from './serve-call.ts'

if (parentPort !== null) serveCell(parentPort)
