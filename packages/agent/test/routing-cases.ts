// The routing cases of D-02 to D-06: what the model answers, and what follows. A test runs every row; a
// script may print them. `follows` is what the run records of it, in order, in the words of `told`; the final
// answer that ends the run is left out.
import type { DomainEvent } from '@beaver/core'
import type { ChatAnswer } from '../src/index.ts'

export interface RoutingCase {
  readonly name: string
  /**
   * `routed`: a root with a skill that guides a team. `open`: a root without one. `bare`: a routed root
   * without workflow tools.
   */
  readonly run: 'routed' | 'open' | 'bare' | 'worker'
  /** The answers before the final one: each the names of the tools it calls. */
  readonly answers: readonly (readonly string[])[]
  readonly follows: readonly string[]
  /** Whether the workflow tools are among the schemas of each call of the model. */
  readonly offered: readonly boolean[]
}

const prefixed = 'mcp_local_team_workflow_mcp_GraphWorkflow'

export const routingCases: readonly RoutingCase[] = [
  {
    name: 'D-03 a text selects single',
    run: 'routed',
    answers: [],
    follows: ['mode single'],
    offered: [true],
  },
  {
    name: 'D-03 an ordinary call selects single, and from then on no workflow is offered',
    run: 'routed',
    answers: [['add']],
    follows: ['mode single', 'calls add', 'add ok'],
    offered: [true, false],
  },
  {
    name: 'D-03 a workflow call selects team',
    run: 'routed',
    answers: [['SequentialWorkflow']],
    follows: ['mode team by SequentialWorkflow', 'calls SequentialWorkflow', 'SequentialWorkflow ok'],
    offered: [true, true],
  },
  {
    name: 'D-03 under its prefixed name too',
    run: 'routed',
    answers: [[prefixed]],
    follows: [`mode team by ${prefixed}`, `calls ${prefixed}`, `${prefixed} ok`],
    offered: [true, true],
  },
  {
    name: 'D-04 of a mixed answer only the workflow call is kept',
    run: 'routed',
    answers: [['add', 'SequentialWorkflow', 'add']],
    follows: ['mode team by SequentialWorkflow', 'calls SequentialWorkflow', 'SequentialWorkflow ok'],
    offered: [true, true],
  },
  {
    name: 'D-04 of several workflow calls the first runs, the others have a result that says so',
    run: 'routed',
    answers: [['SequentialWorkflow', 'ConcurrentWorkflow', prefixed]],
    follows: [
      'mode team by SequentialWorkflow',
      `calls SequentialWorkflow ConcurrentWorkflow ${prefixed}`,
      'SequentialWorkflow ok',
      'ConcurrentWorkflow workflow_already_selected',
      `${prefixed} workflow_already_selected`,
    ],
    offered: [true, true],
  },
  {
    name: 'D-05 after single a workflow call is refused, the others run',
    run: 'routed',
    answers: [['add'], ['add', 'SequentialWorkflow', 'add']],
    follows: [
      'mode single',
      'calls add',
      'add ok',
      'calls add SequentialWorkflow add',
      'add ok',
      'SequentialWorkflow execution_mode_locked_single',
      'add ok',
    ],
    offered: [true, false, false],
  },
  {
    name: 'D-05 under its prefixed name too',
    run: 'routed',
    answers: [['add'], [prefixed]],
    follows: [
      'mode single',
      'calls add',
      'add ok',
      `calls ${prefixed}`,
      `${prefixed} execution_mode_locked_single`,
    ],
    offered: [true, false, false],
  },
  {
    name: 'D-06 after a team ordinary tools and another workflow may be called',
    run: 'routed',
    answers: [['SequentialWorkflow'], ['add', 'ConcurrentWorkflow']],
    follows: [
      'mode team by SequentialWorkflow',
      'calls SequentialWorkflow',
      'SequentialWorkflow ok',
      'calls add ConcurrentWorkflow',
      'add ok',
      'ConcurrentWorkflow ok',
    ],
    offered: [true, true, true],
  },
  {
    name: 'D-02 without guidance there is no mode: a workflow may be called at any time',
    run: 'open',
    answers: [['add'], ['add', 'SequentialWorkflow']],
    follows: ['calls add', 'add ok', 'calls add SequentialWorkflow', 'add ok', 'SequentialWorkflow ok'],
    offered: [true, true, true],
  },
  {
    name: 'D-02 without a workflow tool there is no mode either',
    run: 'bare',
    answers: [['add'], ['SequentialWorkflow']],
    follows: ['calls add', 'add ok', 'calls SequentialWorkflow', 'SequentialWorkflow tool_not_available'],
    offered: [false, false, false],
  },
  {
    name: 'D-09 a worker has no mode and no workflow, under neither name',
    run: 'worker',
    answers: [['SequentialWorkflow', prefixed, 'add']],
    follows: [
      `calls SequentialWorkflow ${prefixed} add`,
      'SequentialWorkflow tool_not_available',
      `${prefixed} tool_not_available`,
      'add ok',
    ],
    offered: [false, false],
  },
]

/** What a run's events say of its routing and its calls; the results of one answer in call order. */
export function told(events: readonly DomainEvent[]): string[] {
  const lines: string[] = []
  const results = new Map(
    events.flatMap((event) =>
      event.type === 'tool_result_recorded' ? [[event.data.call_id, event.data] as const] : [],
    ),
  )
  for (const event of events) {
    if (event.type === 'execution_mode_selected')
      lines.push(
        `mode ${event.data.execution_mode}${event.data.workflow_tool === null ? '' : ` by ${event.data.workflow_tool}`}`,
      )
    if (event.type !== 'assistant_message_added' || event.data.tool_calls.length === 0) continue
    lines.push(`calls ${event.data.tool_calls.map(({ name }) => name).join(' ')}`)
    lines.push(
      ...event.data.tool_calls.map(
        ({ id, name }) =>
          `${name} ${results.has(id) ? (results.get(id)?.error ?? 'ok') : 'without a result'}`,
      ),
    )
  }
  return lines
}

/** One answer that calls these tools, with arguments they take and ids of their own. */
export function answerCalling(names: readonly string[], turn: number): Partial<ChatAnswer> {
  const agents = [{ name: 'a', instruction: 'do a' }]
  const graph = { task: 't', agents, edges: [], output_agent: 'a' }
  const args = (name: string): unknown =>
    name === 'add' ? { a: 1, b: 1 } : name === prefixed ? graph : { task: 't', agents }
  return {
    finishReason: 'tool_calls',
    toolCalls: names.map((name, i) => ({
      id: `t${turn}c${i + 1}`,
      name,
      arguments: JSON.stringify(args(name)),
    })),
  }
}

/** The cases as a Markdown table. */
export function routingTable(cases: readonly RoutingCase[] = routingCases): string {
  const answers = ({ answers: given }: RoutingCase): string =>
    [...given.map((names) => `[${names.join(', ')}]`), 'text'].join(' → ')
  const rows = cases.map(
    (each) =>
      `| ${each.name} | ${each.run} | ${answers(each)} | ${each.follows.join(' · ')} | ${each.offered.map((is) => (is ? 'yes' : 'no')).join(', ')} |`,
  )
  return [
    '| case | run | answers | events and results | workflows offered |',
    '|---|---|---|---|---|',
    ...rows,
  ].join('\n')
}
