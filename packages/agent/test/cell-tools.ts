// Tools that misbehave, for cells. `beat` files in the workspace tell that something is still running.
import { spawn } from 'node:child_process'
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { defineTool, ToolFailure, type ToolContext } from '../src/tools/tool.ts'

const kinds = ['thread', 'process'] as const
const input = z.strictObject({ what: z.string(), size: z.number().optional() })

async function misbehave({ what, size = 0 }: z.output<typeof input>, context: ToolContext): Promise<unknown> {
  const beat = (): void => appendFileSync(join(context.workspace, 'beat'), '.')
  switch (what) {
    case 'context': {
      const { signal, skills, sharedState, workspace, taskId, sessionId, runId, callId } = context
      return { aborted: signal.aborted, skills, sharedState, workspace, taskId, sessionId, runId, callId }
    }
    case 'environment':
      return Object.keys(process.env).toSorted()
    case 'loop':
      for (;;) beat()
    case 'hang':
      setInterval(beat, 5)
      return new Promise(() => {})
    case 'tidy':
      beat()
      return new Promise((resolve) =>
        context.signal.addEventListener('abort', () => {
          appendFileSync(join(context.workspace, 'tidied'), String(context.signal.reason))
          resolve('')
        }),
      )
    case 'fill the heap': {
      const held: number[][] = []
      for (;;) held.push(Array.from({ length: 100_000 }, (_, i) => i))
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
      spawn('sh', ['-c', `while :; do printf . >> "${join(context.workspace, 'beat')}"; sleep 0.01; done`], { stdio: 'ignore' }).unref()
      return 'left behind'
    default:
      return what
  }
}

export const tools = kinds.map((isolation) =>
  defineTool({ name: `in_${isolation}`, description: `Misbehaves in a ${isolation}.`, input, isolation, run: misbehave }),
)

export const inline = defineTool({ name: 'inline', description: 'Misbehaves in the thread of its caller.', input, run: misbehave })
