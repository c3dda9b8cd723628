// Tools that misbehave, for cells. While one of them runs on, it holds a file of the workspace open and
// writes into it. They are made without `defineTool`, because every cell loads this module, and `defineTool`
// needs ten times as long to load as the rest of a cell.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { parentPort } from 'node:worker_threads'
import { z } from 'zod'
import { resultText } from '../src/tools/result-text.ts'
import { ToolFailure, ToolInputError } from '../src/tools/tool-failure.ts'
import type { Isolation, Tool, ToolContext } from '../src/tools/tool.ts'

const kinds = ['thread', 'process'] as const
const input = z.strictObject({ what: z.string(), size: z.number().optional() })

async function misbehave({ what, size = 0 }: z.output<typeof input>, context: ToolContext): Promise<unknown> {
  const beat = (file: number): number => writeSync(file, '.')
  switch (what) {
    case 'context': {
      const { signal, skills, sharedState, workspace, taskId, sessionId, runId, callId } = context
      return { aborted: signal.aborted, skills, sharedState, workspace, taskId, sessionId, runId, callId }
    }
    case 'progress':
      for (let progress = 1; progress <= 1_000; progress++)
        context.progress({ progress, total: 1_000, message: 'Counts.' })
      return 'counted'
    case 'trace':
      return { trace: context.trace, variable: process.env['TRACEPARENT'] }
    case 'environment':
      return Object.keys(process.env).toSorted()
    case 'loop':
      for (const file = openSync(join(context.workspace, what), 'a'); ;) beat(file)
    case 'hang':
      setInterval(beat, 5, openSync(join(context.workspace, what), 'a'))
      return new Promise(() => {})
    case 'tidy':
      appendFileSync(join(context.workspace, 'listens'), '.')
      return new Promise((resolve) =>
        context.signal.addEventListener('abort', () => {
          appendFileSync(join(context.workspace, 'tidied'), String(context.signal.reason))
          resolve('')
        }),
      )
    case 'fill the heap': {
      const piece = Array.from({ length: 1_000_000 }, () => 0.5)
      const held: number[][] = []
      for (;;) held.push([...piece])
    }
    case 'print':
      process.stdout.write('to stdout\n\nwithout')
      await new Promise((resolve) => process.stdout.write(' an end', resolve))
      return 'printed'
    case 'exit':
      return process.exit(7)
    case 'uncaught':
      setImmediate(() => {
        throw new Error('uncaught in a cell')
      })
      return new Promise(() => {})
    case 'fail':
      throw new ToolFailure('own_code', 'in its own words')
    case 'garbage':
      parentPort?.postMessage(null, [])
      process.send?.(null)
      return new Promise(() => {})
    case 'crash':
      throw new Error('boom')
    case 'function':
      return () => 1
    case 'large':
      return 'x'.repeat(size)
    case 'wait':
      setInterval(() => undefined, 1_000)
      return new Promise(() => {})
    case 'pid':
      return process.pid
    case 'key':
      return process.env['BEAVER_TEST_KEY']
    case 'memory':
      return context.memory({ action: 'add', target: 'memory', content: 'x' })
    case 'child':
      await leaveChild(join(context.workspace, what))
      return 'left behind'
    default:
      return what
  }
}

/** Resolves when the child has the file open. */
async function leaveChild(file: string): Promise<void> {
  const child = spawn(
    'sh',
    ['-c', `exec 3>> "${file}"; echo begun; while :; do printf . >&3; sleep 0.01; done`],
    { stdio: ['ignore', 'pipe', 'ignore'] },
  )
  child.unref()
  await once(child.stdout, 'data')
  child.stdout.destroy()
}

function misbehaving(name: string, isolation: Isolation): Tool {
  return {
    name,
    description: 'Misbehaves.',
    parameters: z.toJSONSchema(input),
    idempotent: false,
    isolation,
    async invoke(args, context) {
      const { data, error } = input.safeParse(args)
      if (error !== undefined) throw new ToolInputError(z.prettifyError(error))
      return resultText(name, await misbehave(data, context))
    },
  }
}

export const tools = kinds.map((isolation) => misbehaving(`in_${isolation}`, isolation))

/** It misbehaves in the thread of its caller. */
export const inline = misbehaving('inline', 'inline')
