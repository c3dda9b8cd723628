// A module of tools that tell how far they are, for the tests of a daemon. A call ends when the file `finish`
// is in the workspace.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { defineTool, type ToolContext } from '@beaver/agent'
import { z } from 'zod'

const input = z.strictObject({})

async function count(_: unknown, { progress, signal, workspace }: ToolContext): Promise<string> {
  progress({ progress: 3, total: 4, message: 'Counts the sheep.' })
  while (!existsSync(join(workspace, 'finish'))) await pause(10, undefined, { signal })
  return 'counted'
}

export const inline = defineTool({ name: 'count_inline', description: 'Counts.', input, run: count })
export const apart = defineTool({
  name: 'count_apart',
  description: 'Counts.',
  input,
  isolation: 'process',
  run: count,
})
