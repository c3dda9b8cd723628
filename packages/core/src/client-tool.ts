// The tools that a client brings with its task. The root agent calls them, and the client makes the calls:
// their waits and results are events of the run (events/run-events.ts).
import { z } from 'zod'
import { jsonObject } from './json.ts'

/** A tool of the client, as the journal keeps it. */
export const clientTool = z.object({
  name: z.string().describe('The name of the tool.'),
  description: z.string().optional().describe('What the tool does, for the model. Absent: nothing is said.'),
  parameters: jsonObject.describe('The JSON Schema of the arguments.'),
})
export type ClientTool = z.infer<typeof clientTool>

/** Which tools the root agent may or must call in its next answer. */
export const toolChoice = z.union([
  z.enum(['auto', 'none', 'required']),
  z.object({
    mode: z
      .enum(['auto', 'required'])
      .describe('auto: it may call them. required: it must call one of them.'),
    names: z.array(z.string()).describe('The tools that it may call.'),
  }),
  z.object({
    mode: z.literal('auto'),
    except: z.array(z.string()).describe('The tools that it may not call.'),
  }),
])
export type ToolChoice = z.infer<typeof toolChoice>
