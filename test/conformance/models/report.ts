// What a run says to a person, in 80 columns, and to a program. Pure.
import { visible } from '@beaver/core'
import { costOf } from '@beaver/core/cost'
import { type AskedServer, isFit, type ProbeRun } from './run-probes.ts'

export interface ReportedRun {
  readonly run: ProbeRun
  readonly server: AskedServer & { readonly baseURL: string }
  readonly name: string
  readonly ms: number
}

const columns = 80
const widths = { name: 20, result: 13 } as const
const words = {
  passed: 'passed',
  failed: 'FAILED',
  unsupported: 'not supported',
  unasked: 'not seen',
} as const

/** The lines of the table. */
export function tableOf({ run, server, name, ms }: ReportedRun): readonly string[] {
  const { judged, steps, requests } = run
  const seenFrom = widths.name + widths.result + 4
  const row = (probe: string, result: string, seen: string): string[] => {
    const [first = '', ...more] = wrapped(seen, columns - seenFrom)
    return [
      `${probe.padEnd(widths.name)}  ${result.padEnd(widths.result)}  ${first}`.trimEnd(),
      ...more.map((line) => `${' '.repeat(seenFrom)}${line}`),
    ]
  }
  const rest = requests - steps.filter(({ exchanges }) => exchanges.length > 0).length
  const again = rest === 0 ? '' : `, ${rest} of them repeated`
  return [
    ...wrapped([name, server.model, server.protocol].map((each) => visible(each)).join(' · '), columns),
    '',
    ...row('probe', 'result', 'what was seen'),
    ...judged.flatMap(({ name: probe, needed, result, seen }) =>
      row(`${probe}${needed ? ' *' : ''}`, words[result], seen),
    ),
    '',
    '* No team works without it.',
    ...wrapped(
      `${requests} requests${again}, ${usageIn(run)}, ${costIn(run, server.model)}, ${(ms / 1000).toFixed(1)} s`,
      columns,
    ),
    ...wrapped(conclusionOf(run), columns),
  ]
}

function conclusionOf(run: ProbeRun): string {
  const missing = run.judged.filter(({ needed, result }) => needed && result !== 'passed')
  if (missing.length > 0) return `A team cannot work with this server: ${namesOf(missing)}.`
  const wrong = run.judged.filter(({ result }) => result === 'failed')
  return `A team can work with this server${wrong.length === 0 ? '' : `, but this is wrong: ${namesOf(wrong)}`}.`
}

const namesOf = (judged: ProbeRun['judged']): string => judged.map(({ name }) => name).join(', ')

const usageIn = ({ usage }: ProbeRun): string =>
  `${usage.input_tokens.toLocaleString('en')} tokens in, ${usage.output_tokens.toLocaleString('en')} out${usage.unknown_calls === undefined ? '' : ' at least'}`

function costIn({ usage, answeredBy }: ProbeRun, model: string): string {
  const cost = costOf(answeredBy ?? model, usage) ?? costOf(model, usage)
  return cost === null ? 'cost not known' : `$${cost.toFixed(4)}`
}

/** The lines of a text. A word that is longer than a line is cut. */
function wrapped(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text
    .split(' ')
    .flatMap((each) => each.match(new RegExp(`.{1,${width}}`, 'gsu')) ?? [''])) {
    const longer = line === '' ? word : `${line} ${word}`
    if (longer.length <= width) line = longer
    else {
      lines.push(line)
      line = word
    }
  }
  return [...lines, line]
}

/** The same for programs. */
export function jsonOf({ run, server, name, ms }: ReportedRun): object {
  const { judged, steps, requests, usage, answeredBy, failure } = run
  return {
    ...{
      ok: isFit(run),
      name,
      model: server.model,
      answered_by: answeredBy,
      protocol: server.protocol,
      failure,
    },
    probes: judged.map(({ name: probe, needed, result, seen, step }) => ({
      name: probe,
      needed,
      result,
      seen,
      ms: steps.find((each) => each.name === step)?.ms ?? 0,
    })),
    ...{ requests, usage, ms: Math.round(ms) },
  }
}
