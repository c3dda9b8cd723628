// Starts the simulated model as a child process, so that a busy runtime does not block it. The child ends
// with its parent, and inherits no environment, so no secret reaches it.
import { fileURLToPath } from 'node:url'
import { spawn } from '@beaver/agent/tool-kit'
import { BeaverError } from '@beaver/core'
import { z } from 'zod'
import type { SimulatedModel } from './server.ts'

export interface SimulatedModelProcess extends SimulatedModel {
  readonly pid: number
  readonly exited: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>
}

const startMsMax = 15_000
const stopMsMax = 2_000
const entry = new URL(import.meta.url.endsWith('.ts') ? './main.ts' : './main.js', import.meta.url)
const greeting = z.object({ url: z.url() })

/** @throws {BeaverError} `start_failed` */
export async function startSimulatedModelProcess(
  options: { port?: number; latencyMs?: number } = {},
): Promise<SimulatedModelProcess> {
  const args = [
    fileURLToPath(entry),
    '--port',
    String(options.port ?? 0),
    '--latency-ms',
    String(options.latencyMs ?? 0),
  ]
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'], env: {} })
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }))
    child.once('error', () => resolve({ code: null, signal: null }))
  })
  child.stdin.on('error', () => undefined)

  const close = async (): Promise<void> => {
    child.stdin.end()
    const timer = setTimeout(() => child.kill('SIGKILL'), stopMsMax)
    await exited
    clearTimeout(timer)
  }
  const line = await firstLine(child.stdout, exited)
  const { data } = greeting.safeParse(line === null ? null : readJson(line))
  if (data === undefined || child.pid === undefined) {
    await close()
    throw new BeaverError('start_failed', 'The simulated model did not start')
  }
  return { url: data.url, pid: child.pid, exited, close }
}

/** The first line of the output. `null` if none comes in time, or before the process ends. */
function firstLine(output: NodeJS.ReadableStream, exited: Promise<unknown>): Promise<string | null> {
  return new Promise((resolve) => {
    let text = ''
    const timer = setTimeout(() => resolve(null), startMsMax)
    output.setEncoding('utf8')
    output.on('data', (chunk: string) => {
      text += chunk
      if (!text.includes('\n')) return
      clearTimeout(timer)
      resolve(text.slice(0, text.indexOf('\n')))
    })
    void exited.then(() => {
      clearTimeout(timer)
      resolve(null)
    })
  })
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
