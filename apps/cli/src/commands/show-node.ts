// `beaver show --node`: shows one node of a team: its input, each of its calls, and its output.
import type { NodeDetail } from '@beaver/contracts'
import { shellWord } from '@beaver/core'
import type { GlobalOptions } from '../context.ts'
import type { Screen } from '../screen.ts'
import { commandName } from '../command-name.ts'
import type { Answers } from '../system/answers-from-file.ts'
import { partsText } from '../text/cost.ts'
import { count, counted, duration } from '../text/figures.ts'
import { oneLine, plainText } from '../text/plain-text.ts'
import { shownOutput } from '../text/report.ts'
import { statusPaint, statusWord } from '../text/status-paint.ts'
import { cutToWidth, padEnd } from '../text/width.ts'
import { checkLines } from '../view/show-tree.ts'
import { ask, askingAbout } from './query.ts'

export function showNode(
  task: string,
  node: string,
  options: { readonly team?: string; readonly limit?: number; readonly from?: string; readonly json?: true },
  globals: GlobalOptions,
): Promise<number> {
  return askingAbout(globals, options.from, async ({ screen }, connection) => {
    const answer = await callsOf(
      connection,
      { task_id: task, node_id: node, team_run_id: options.team },
      options.limit ?? Infinity,
    )
    if (options.json === true) return screen.json(answer)
    screen.print(...nodeLines(answer, screen, commandName()))
  })
}

const pageCallsMax = 500

async function callsOf(
  connection: Answers,
  named: { readonly task_id: string; readonly node_id: string; readonly team_run_id: string | undefined },
  limit: number,
): Promise<NodeDetail> {
  let answer = await ask(connection, 'node', { ...named, limit: Math.min(limit, pageCallsMax) })
  while (answer.next !== null && answer.calls.length < limit) {
    const left = Math.min(limit - answer.calls.length, pageCallsMax)
    const page = await ask(connection, 'node', {
      ...named,
      team_run_id: answer.team_run_id,
      after: answer.next,
      limit: left,
    })
    answer = { ...page, calls: [...answer.calls, ...page.calls] }
  }
  return answer
}

type Surface = Pick<Screen, 'columns' | 'style' | 'symbols' | 'interactive'>

export function nodeLines(answer: NodeDetail, screen: Surface, command: string): string[] {
  const { style } = screen
  const { node, workflow, other_team_run_ids: others } = answer
  const { run } = node
  const field = (name: string, value: string): string => `${style.dim(padEnd(name, 11))}${value}`
  const optional = (name: string, value: string | null): string[] =>
    value === null || value === '' ? [] : [field(name, value)]
  const tokens = run === null ? 0 : run.input_tokens + run.output_tokens
  const whole = (text: string | null, chars: number): string[] =>
    text === null || text.length >= chars
      ? []
      : [
          style.dim(
            `(${counted(chars, 'character')}; the whole text: ${command} events ${shellWord(answer.task_id)} --node ${shellWord(node.node_id)} --json)`,
          ),
        ]
  return [
    field('Node', `${style.bold(oneLine(node.node_id))} of ${oneLine(workflow)}`),
    field('Task', answer.task_id),
    field(
      'Team run',
      `${answer.team_run_id}${others.length === 0 ? '' : style.dim(` (also in ${others.join(', ')}: --team <id> shows it)`)}`,
    ),
    field('Status', statusPaint(node.status, style)(statusWord(node.status)) + whyOf(node)),
    ...optional('Run', run?.run_id ?? null),
    ...optional('Model', run?.model ?? null),
    ...optional('Tool', node.tool),
    ...optional('Operation', node.operation),
    ...optional('After', node.depends_on.map((id) => oneLine(id)).join(', ')),
    ...optional(
      'Skill',
      run === null ? node.use_skill : run.skills.map((skill) => oneLine(skill)).join(', '),
    ),
    ...(node.duration_ms === null ? [] : [field('Took', duration(node.duration_ms))]),
    ...(run === null || run.calls === 0
      ? []
      : [
          field(
            'Usage',
            `${counted(tokens, 'token')} (${count(run.input_tokens)} in, ${count(run.output_tokens)} out${withParts(partsText(run))}) in ${counted(run.calls, 'call')}`,
          ),
        ]),
    ...section(
      'Evidence',
      node.evidence.flatMap((check) =>
        checkLines(check, screen, screen.columns - 2).map((line) => `  ${line}`),
      ),
      style,
    ),
    ...section('Input', inputLines(answer), style),
    ...whole(answer.input, answer.input_chars),
    ...section(
      `Calls (${count(answer.calls.length)}${answer.more ? ' of more: use --limit' : ''})`,
      answer.calls.length === 0 ? [] : answer.calls.map((call) => callLine(call, answer.calls, screen)),
      style,
    ),
    ...section('Output', outputOf(answer, screen), style),
    ...whole(answer.output, answer.output_chars),
  ]
}

const withParts = (parts: string): string => (parts === '' ? '' : `; ${parts}`)

const section = (title: string, lines: readonly string[], style: Surface['style']): string[] =>
  lines.length === 0 ? [] : ['', style.bold(title), ...lines]

function inputLines(answer: NodeDetail): string[] {
  const text =
    answer.input ??
    answer.instruction ??
    (answer.arguments === null ? '' : JSON.stringify(answer.arguments, null, 2))
  return text === '' ? [] : [plainText(text).trimEnd()]
}

function outputOf({ output }: NodeDetail, { interactive, style }: Surface): string[] {
  if (output === null || output === '') return []
  return [shownOutput(output, { interactive, style }).trimEnd()]
}

function whyOf({
  failure,
  cause_node_id: cause,
  skip_reason: skipped,
  cancel_reason: cancelled,
}: NodeDetail['node']): string {
  if (failure !== null) return ` (${failure.class}: ${oneLine(failure.message)})`
  if (cause !== null) return ` by ${oneLine(cause)}`
  const reason = skipped ?? cancelled
  return reason === null ? '' : ` (${oneLine(reason)})`
}

type ToolCallOfNode = Extract<NodeDetail['calls'][number], { kind: 'tool' }>

/**
 * What a call without a result waits for: a person's decision or the client, for it or for another call of the
 * same answer.
 */
function waitText(
  { call_id: id, waits_for_call_id: waitsFor, waits_for_client: atClient }: ToolCallOfNode,
  all: NodeDetail['calls'],
): string {
  if (waitsFor === undefined) return 'no result yet'
  if (waitsFor === id) return atClient === true ? 'waits for the client' : 'waits for your approval'
  const holding = all.find((call) => call.kind === 'tool' && call.call_id === waitsFor)
  const named =
    holding?.kind === 'tool' ? `${oneLine(holding.tool)} (${oneLine(waitsFor)})` : oneLine(waitsFor)
  return atClient === true
    ? `waits until the client has made ${named}`
    : `waits until you decide about ${named}`
}

/** The line of one call: its event, what was called, the outcome, and how long it took. */
function callLine(
  call: NodeDetail['calls'][number],
  all: NodeDetail['calls'],
  { columns, style, symbols }: Surface,
): string {
  const good = call.success
  const mark =
    good === null ? style.cyan(symbols.active) : good ? style.green(symbols.done) : style.red(symbols.failed)
  const took = call.duration_ms === null ? [] : [duration(call.duration_ms)]
  const facts =
    call.kind === 'model'
      ? [
          [call.model ?? call.provider ?? 'model', ...(call.purpose === 'answer' ? [] : [call.purpose])].join(
            ' ',
          ),
          ...took,
          ...(call.input_tokens === null
            ? []
            : [
                `${count(call.input_tokens)} in, ${count(call.output_tokens ?? 0)} out${withParts(partsText({ ...call, input_tokens: call.input_tokens }))}`,
              ]),
          call.failure === null
            ? oneLine(call.text ?? `finish reason ${call.finish_reason ?? 'unknown'}`)
            : `${call.failure.class}: ${oneLine(call.failure.message)}`,
        ]
      : [
          `${oneLine(call.tool)} ${oneLine(call.arguments ?? '')}`.trimEnd(),
          ...took,
          ...(call.error === null ? [] : [oneLine(call.error)]),
          ...(call.result === null
            ? [waitText(call, all)]
            : [`${counted(call.result_chars, 'character')}: ${oneLine(call.result)}`]),
        ]
  const head = `  ${style.dim(`#${call.taskseq}`)} ${mark} `
  return (
    head +
    cutToWidth(facts.join(`  `), Math.max(20, columns - 6 - String(call.taskseq).length), symbols.ellipsis)
  )
}
