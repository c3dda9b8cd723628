// `loaded`: what a daemon has loaded for its agents: skills, profiles, tools, workflows and MCP servers. `plan`:
// the graph of a workflow call, without running it. Both change nothing. No answer has a secret: of an MCP
// server it has neither the URL nor the headers, the arguments or the environment.
import { jsonObject } from '@beaver/core'
import { budgetLimits } from '@beaver/core/budget'
import { executionGraph } from '@beaver/core/graph'
import { z } from 'zod'
import { contract } from '../contract.ts'
import { after, count, limitOf, paged, textOrNull } from '../fields.ts'

const kinds = ['skill', 'profile', 'tool', 'workflow', 'mcp_server'] as const
/** What a daemon loads. */
export type LoadedKind = (typeof kinds)[number]

const onlyByName = 'Absent: the request names nothing, or there is none.'
const cut = z
  .literal(true)
  .optional()
  .describe('The text is longer than one answer, so its end is missing. Absent: the text is whole.')
const name = z.string().describe('Its name. The names of the tools of an MCP server begin with its name.')
const description = z
  .string()
  .describe('What it is for. Empty: it does not say it. A list shows at most 1,000 characters of it.')
const text = z
  .string()
  .optional()
  .describe(`What an agent reads of it, without what Beaver adds. ${onlyByName}`)
const ok = (is: boolean): string => `${is}: the workflow ${is ? 'takes' : 'refuses'} the arguments.`
const schema = jsonObject
  .nullable()
  .optional()
  .describe(`The JSON Schema of its arguments. null: it is too large for an answer. ${onlyByName}`)
const profiles = z
  .array(z.string())
  .describe('The profiles that list it, at most 100 of them. A profile without a list has every tool.')

const skill = z.object({
  kind: z.literal('skill').describe('skill: a SKILL.md.'),
  name,
  description,
  folder: z.string().describe('Its folder, on the machine of the daemon.'),
  from: z
    .enum(['configured', 'workspace', 'built_in'])
    .describe('Who brought it: the configuration, the workspace of the daemon, or Beaver.'),
  model_invocable: z.boolean().describe('Whether a model may choose it. false: somebody has to name it.'),
  allowed_tools: z
    .array(z.string())
    .nullable()
    .describe('The tools that it says it needs. null: it names none.'),
  license: textOrNull.describe('Its license. null: it names none.'),
  compatibility: textOrNull.describe('What it needs. null: it says nothing.'),
  sha256: z.string().describe('The SHA-256 of its file.'),
  guides: textOrNull.describe('The workflow that it proposes. null: it has no guidance.'),
  text,
  cut,
})

const profile = z.object({
  kind: z.literal('profile').describe('profile: an agent_profile.json.'),
  name,
  description,
  file: textOrNull.describe('Its file, on the machine of the daemon. null: not known.'),
  is_default: z.boolean().describe('Whether a task has it that names no profile.'),
  model: textOrNull.describe('The name of its model. null: the main model.'),
  model_choice: z
    .boolean()
    .describe('Whether its calls of workflows may name a model for an agent of the team.'),
  tool_ids: z
    .array(z.string())
    .nullable()
    .describe('The ids of its tools. null: it has what an agent without a profile has.'),
  max_tool_iterations: count
    .nullable()
    .describe('How many answers with calls of tools a run may have. null: as the configuration says.'),
  budget: budgetLimits
    .nullable()
    .describe('The most that a task with it may use. null: as the configuration says.'),
  output_schema: jsonObject.optional().describe(`The JSON Schema of its final answer. ${onlyByName}`),
  text,
  cut,
})

const tool = z.object({
  kind: z.literal('tool').describe('tool: a tool that an agent may call.'),
  name,
  id: z.string().describe('Its id in the list of a profile.'),
  description,
  described_by: textOrNull.describe('Who wrote the description, if it is a stranger. null: nobody strange.'),
  reads: z
    .enum(['public', 'own', 'web', 'untrusted', 'secret', 'depends'])
    .describe('Whose text its results are. depends: it follows from the arguments.'),
  effects: z.enum(['none', 'reads', 'writes']).describe('What a call does.'),
  sink: textOrNull.describe('What it does with its arguments. null: nothing of them leaves the run.'),
  permission: z
    .enum(['allow', 'ask', 'deny'])
    .describe('What happens to a call about which no rule decides.'),
  rules: z
    .array(
      z.object({
        decision: z.enum(['allow', 'ask', 'deny']).describe('What the rule says.'),
        tool: z.string().describe('The tools that the rule is about. * matches any characters.'),
        pattern: textOrNull.describe('What a call has to act on. null: every call.'),
      }),
    )
    .describe(
      'The permission rules about it, in their order: the first one that matches decides. Rules after one without a pattern are left out, and those after the first 50.',
    ),
  profiles,
  schema,
})

const workflow = z.object({
  kind: z.literal('workflow').describe('workflow: a workflow that a task may be.'),
  name,
  description,
  file: textOrNull.describe('Its definition file, on the machine of the daemon. null: it is part of Beaver.'),
  is_tool: z.boolean().describe('Whether an agent may call it. false: only a task may be one.'),
  text_input: textOrNull.describe('The argument that one text is enough for. null: it needs more.'),
  profiles,
  schema,
})

const mcpServer = z.object({
  kind: z.literal('mcp_server').describe('mcp_server: a server of tools in the configuration.'),
  name,
  transport: z.enum(['program', 'http']).describe('How the daemon reaches it.'),
  state: z
    .enum(['starting', 'connected', 'restarting', 'needs_login', 'failed', 'stopped'])
    .nullable()
    .describe('Its state. null: not known.'),
  tools: count.nullable().describe('How many of its tools agents can use. null: not known.'),
  left_out: count.nullable().describe('How many of its tools are left out. null: not known.'),
  reason: textOrNull.describe('Why it is not connected. null: it is, or the reason is not known.'),
})

const entry = z
  .discriminatedUnion('kind', [skill, profile, tool, workflow, mcpServer])
  .meta({ id: 'loaded_entry', description: 'Something that a daemon has loaded for its agents.' })
/** Something that a daemon has loaded for its agents. */
export type LoadedEntry = z.infer<typeof entry>

const answer = z.object({
  daemon: z.string().describe('The id of the daemon that answers.'),
  entries: z.array(entry).describe('The entries: skills, profiles, tools, workflows, MCP servers.'),
  total: count.describe('How many entries fit the request, on all pages together.'),
  findings: z
    .array(
      z.object({
        file: z.string().describe('The file or folder.'),
        severity: z.enum(['warning', 'error']).describe('error: the content of the file is not used.'),
        message: z.string().describe('What is wrong with it.'),
      }),
    )
    .describe(
      'What is wrong with files of skills, tools, workflows and profiles, at most 200. If the request names something: with its file or folder.',
    ),
  ...paged,
})
/** What a daemon has loaded. */
export type LoadedAnswer = z.infer<typeof answer>

export const loaded = contract(
  'Lists what one daemon has loaded for its agents: skills, profiles, tools, workflows and MCP servers. If it names one, the answer has its texts and its schema.',
  {
    input: z.strictObject({
      kind: z.enum(kinds).optional().describe('Only entries of this kind. Absent: all kinds.'),
      name: z
        .string()
        .min(1)
        .max(200)
        .optional()
        .describe(
          'Only entries of this name, with their texts and their schemas. Absent: all, without these.',
        ),
      limit: limitOf('entries', { usual: 100, max: 500 }),
      after,
    }),
    output: answer,
  },
)

const planned = z.object({
  ok: z.literal(true).describe(ok(true)),
  graph: executionGraph.describe('The graph with which the task would begin.'),
  grows_to_max: count
    .nullable()
    .describe('The most agents and tools that the graph may have when it ends. null: it does not grow.'),
  conditions: z
    .array(
      z.object({
        node_id: z.string().describe('The node.'),
        when: z.string().describe('The condition under which it runs.'),
      }),
    )
    .describe('The nodes that run only if something is true.'),
  budget: budgetLimits.describe('The most that such a task may use by the configuration.'),
})
const refused = z.object({
  ok: z.literal(false).describe(ok(false)),
  error: z
    .object({
      code: z.string().describe('The code, such as unknown_workflow or cycle.'),
      message: z.string().describe('What is wrong, and what to write instead.'),
      path: z.string().describe('The dotted path in the arguments. Empty: the whole.'),
    })
    .describe('Why there is no plan.'),
})

export const plan = contract(
  'Plans a workflow call as a task would begin with it, and runs nothing. A refused call is an answer, not an error.',
  {
    input: z.strictObject({
      workflow: z
        .string()
        .min(1)
        .max(200)
        .describe('The workflow, such as GraphWorkflow or workflow:summarize.'),
      arguments: jsonObject.describe('The arguments of the workflow.'),
    }),
    output: z.discriminatedUnion('ok', [planned, refused]),
  },
)
