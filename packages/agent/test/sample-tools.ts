// Tools by the names of some built-in ones, which belong to another package: enough for tests of what names
// tools.
import { z } from 'zod'
import { defineTool, type Tool } from '../src/tools/tool.ts'

export const sampleTools: readonly Tool[] = ['list_files', 'read_file', 'recount_files', 'echo'].map((name) =>
  defineTool({ name, description: name, input: z.strictObject({}), idempotent: true, run: () => name }),
)
