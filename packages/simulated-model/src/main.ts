// The simulated model as a child process: prints one line `{"url": …}`, and serves until SIGTERM or stdin
// closes.
import { parseArgs } from 'node:util'
import { startSimulatedModel } from './server.ts'

const { values } = parseArgs({ options: { port: { type: 'string' }, 'latency-ms': { type: 'string' } } })
const model = await startSimulatedModel({
  port: Number(values.port ?? 0),
  latencyMs: Number(values['latency-ms'] ?? 0),
})

let stopping = false
const stop = (): void => {
  if (stopping) return
  stopping = true
  void model.close().then(() => process.exit(0))
}
process.once('SIGTERM', stop)
// Ctrl-C reaches the whole process group, but the parent may still need answers while it drains.
process.on('SIGINT', () => process.stdin.isTTY && stop())
process.stdin.on('end', stop).on('error', stop).resume()

process.stdout.write(`${JSON.stringify({ url: model.url })}\n`)
