// The gate: decides from the facts of the journal whether a run did what its node requires. A claim in a text
// proves nothing, and a missing fact satisfies nothing. A natural-language requirement is `not_checked` and
// fails nothing (D-11). Every verdict names the events on which it rests.
import {
  compilePattern,
  type EvidenceCheck,
  type EvidenceDemands,
  type EvidenceRequirement,
  type EvidenceVerdict,
  type MachineRequirement,
  type RunFacts,
  schemaMismatch,
} from '@beaver/core/evidence'
import { citesVerdict } from './cites.ts'
import { type Figure, figuresIn, valueOf, withoutListNumbers } from './figures.ts'
import { KnownFigures } from './known-figures.ts'
import { looksInside, verdictAt } from './output-part.ts'
import { resultTexts } from './result-texts.ts'
import { statedMagnitudes } from './units.ts'
import { listed, quoted, times, type Verdict } from './verdict.ts'

/**
 * Checks everything that a node demands, each field in its order. A node that demands nothing has no checks.
 *
 * @example
 * const facts = { outputText: 'Spring tide: 4.1 m', outputSeq: 9, tools: [] }
 * evaluateNode({ required_evidence: [{ kind: 'output_length', min: 5 }] }, facts).passed // => true
 */
export function evaluateNode(demands: EvidenceDemands, facts: RunFacts): EvidenceVerdict {
  const { required_evidence, validation_rules = [], evidence_contract } = demands
  const required = evaluateEvidence(required_evidence, facts)
  const rules = evaluateEvidence(validation_rules, facts)
  return {
    passed: required.passed && rules.passed,
    checks: [
      ...required.checks,
      ...rules.checks.map((each): EvidenceCheck => ({ field: 'validation_rules', ...each })),
      ...(evidence_contract === undefined
        ? []
        : [{ field: 'evidence_contract' as const, ...notChecked(evidence_contract) }]),
    ],
  }
}

/**
 * Checks a list of requirements, in their order. It passes if no check failed; a check that is `not_checked`
 * does not fail.
 *
 * @example
 * const facts = { outputText: 'Spring tide: 4.1 m', outputSeq: 9, tools: [] }
 * evaluateEvidence([{ kind: 'output_contains', texts: ['4.1 m'] }], facts).passed // => true
 * evaluateEvidence([{ kind: 'tool_succeeded', tool: 'web_search' }], facts).passed // => false
 */
export function evaluateEvidence(
  requirements: readonly EvidenceRequirement[],
  facts: RunFacts,
): EvidenceVerdict {
  const checks = requirements.map((requirement) => check(requirement, facts))
  return { passed: checks.every((each) => each.status !== 'failed'), checks }
}

function check(requirement: EvidenceRequirement, facts: RunFacts): EvidenceCheck {
  if (typeof requirement === 'string') return notChecked(requirement)
  const { passed, detail, restsOn } = verdict(requirement, facts)
  return {
    requirement,
    status: passed ? 'passed' : 'failed',
    detail,
    rests_on: [...new Set(restsOn)].filter((seq) => seq > 0).toSorted((a, b) => a - b),
  }
}

function notChecked(requirement: string): EvidenceCheck {
  return {
    requirement,
    status: 'not_checked',
    detail: 'Natural language is shown to the worker and not checked by code.',
    rests_on: [],
  }
}

function verdict(requirement: MachineRequirement, facts: RunFacts): Verdict {
  return looksInside(requirement)
    ? verdictAt(requirement, facts, (part) => verdictOf(requirement, part))
    : verdictOf(requirement, facts)
}

/** The verdict on a whole output. */
function verdictOf(requirement: MachineRequirement, facts: RunFacts): Verdict {
  const { outputText: output, outputSeq } = facts
  const ofOutput = (passed: boolean, detail: string): Verdict => ({ passed, detail, restsOn: [outputSeq] })
  switch (requirement.kind) {
    case 'tool_succeeded':
      return toolVerdict(requirement, facts)
    case 'output_length': {
      const { min = 0, max = Infinity } = requirement
      const bounds = [
        ...(min > 0 ? [`at least ${min}`] : []),
        ...(max < Infinity ? [`at most ${max}`] : []),
      ].join(' and ')
      return ofOutput(
        output.length >= min && output.length <= max,
        `The output has ${output.length} characters; ${bounds || 'any number'} required.`,
      )
    }
    case 'output_matches': {
      const { pattern } = requirement
      const compiled = compilePattern(pattern)
      if ('fault' in compiled)
        return ofOutput(false, `The output cannot be checked against /${pattern}/: ${compiled.fault}.`)
      const passed = compiled.test(output)
      return ofOutput(passed, `The output ${passed ? 'matches' : 'does not match'} /${pattern}/.`)
    }
    case 'output_contains': {
      const missing = requirement.texts.filter((text) => !output.includes(text))
      const all = requirement.texts.length
      return ofOutput(
        missing.length === 0,
        missing.length === 0
          ? `The output contains ${listed(requirement.texts.map(quoted))}.`
          : `The output does not contain ${missing.length} of ${all} required ${all === 1 ? 'text' : 'texts'}: ${listed(missing.map(quoted))}.`,
      )
    }
    case 'output_schema': {
      const mismatch = schemaMismatch(requirement.schema, output)
      return ofOutput(
        mismatch === null,
        mismatch === null ? 'The output fits its JSON Schema.' : `The output ${mismatch}.`,
      )
    }
    case 'output_cites':
      return citesVerdict(requirement, facts)
    case 'numbers_from_tools':
      return numbersVerdict(requirement, facts)
    case 'numbers_from_dependencies':
      return givenNumbersVerdict(requirement, facts)
    case 'quotes_from_dependencies':
      return quotesVerdict(requirement, facts)
    case 'output_value':
      // It always looks at a place.
      return ofOutput(false, 'The check names no place of the output.')
    case 'files_exist':
      return filesVerdict(requirement.paths, facts)
    default:
      return requirement satisfies never
  }
}

function toolVerdict(
  { tool, times_min = 1, arguments_match }: MachineRequirement & { kind: 'tool_succeeded' },
  facts: RunFacts,
): Verdict {
  const named = facts.tools.filter((fact) => fact.tool === tool)
  const calls =
    arguments_match === undefined
      ? named
      : named.filter(
          (fact) => fact.arguments !== undefined && argumentsMatch(fact.arguments, arguments_match),
        )
  const good = calls.filter((fact) => fact.success)
  const having =
    arguments_match === undefined ? '' : ` with arguments that contain ${JSON.stringify(arguments_match)}`
  const others = named.length - calls.length
  const detail =
    calls.length === 0
      ? `The tool ${tool} was not called${having}${others === 0 ? '' : ` (${times(others)} with others)`}.`
      : `The tool ${tool} was called ${times(calls.length)}${having} and succeeded ${times(good.length)}; ${times(times_min)} required.`
  const read = calls.length === 0 ? named : calls
  const asked = arguments_match === undefined ? [] : read.map((fact) => fact.askedSeq ?? 0)
  return {
    passed: good.length >= times_min,
    detail,
    restsOn: [...read.map((fact) => fact.taskseq), ...asked],
  }
}

function filesVerdict(paths: readonly string[], { files }: RunFacts): Verdict {
  const restsOn = [files?.taskseq ?? 0]
  const found = new Map(files?.found.map((file) => [file.path, file]))
  const missing = paths.filter((path) => found.get(path)?.found !== 'file')
  if (missing.length > 0) {
    const why = missing.map(
      (path) => `${quoted(path)} ${absence[found.get(path)?.found ?? 'unknown'] ?? absence['unknown']}`,
    )
    return {
      passed: false,
      detail: `${missing.length} of ${paths.length} required ${paths.length === 1 ? 'file' : 'files'} missing: ${listed(why)}.`,
      restsOn,
    }
  }
  return {
    passed: true,
    detail: `${listed(paths.map((path) => `${quoted(path)} (${found.get(path)?.bytes ?? 0} bytes)`))} ${paths.length === 1 ? 'exists' : 'exist'} in the workspace.`,
    restsOn,
  }
}

const absence: Readonly<Record<string, string>> = {
  missing: 'is not there',
  folder: 'is a folder',
  other: 'is no regular file',
  refused: 'lies outside of the workspace',
  unreadable: 'may not be read',
  unknown: 'was not looked for',
}

// Decides whether the arguments of a call contain what a requirement names. An object matches if each named
// field matches; its other fields may be anything. A list matches if each wanted item matches some item of
// it. All other values must be equal: `1` equals `1.0` and does not equal `"1"`.

/** @param sent the text that the model sent as arguments; it may not be JSON */
function argumentsMatch(sent: string, wanted: unknown): boolean {
  try {
    return holds(JSON.parse(sent.trim() === '' ? '{}' : sent), wanted)
  } catch {
    return false
  }
}

function holds(value: unknown, wanted: unknown): boolean {
  if (isList(wanted)) return isList(value) && wanted.every((each) => value.some((item) => holds(item, each)))
  if (isObject(wanted)) {
    return (
      isObject(value) &&
      Object.entries(wanted).every(
        ([field, each]) => Object.hasOwn(value, field) && holds(value[field], each),
      )
    )
  }
  return value === wanted
}

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value)
const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !isList(value)

// The check `quotes_from_dependencies`: does each quotation of the output occur in an output that the node
// received? A quotation is a text in quotation marks of at least `chars_min` characters, or the lines of a
// Markdown quote; code is none. White space, the form of quotation marks and dashes, and emphasis do not
// matter; every other character does. Of a quotation with an ellipsis, each part must occur, in order, in one
// output.

function quotesVerdict(
  { times_min = 1, chars_min = 12 }: MachineRequirement & { kind: 'quotes_from_dependencies' },
  facts: RunFacts,
): Verdict {
  const restsOn = [facts.outputSeq]
  const givenTexts = (facts.given?.outputs ?? []).map(plain)
  const quotes = quotesIn(facts.outputText).filter((quote) => plain(quote).length >= chars_min)
  const invented = quotes.filter((quote) => !givenTexts.some((text) => occurs(quote, text)))
  if (invented.length > 0) {
    const which =
      invented.length === 1
        ? 'A quotation of the output stands'
        : `${invented.length} quotations of the output stand`
    return {
      passed: false,
      detail: `${which} in no output that the node received: ${listed(invented.map(quoted))}.`,
      restsOn,
    }
  }
  const detail = `The output has ${quotes.length} ${quotes.length === 1 ? 'quotation' : 'quotations'} from what the node received; ${times_min} required.`
  return { passed: quotes.length >= times_min, detail, restsOn }
}

const marked =
  /“([^“”]{1,4000})”|„([^„“”]{1,4000})[“”]|«([^«»]{1,4000})»|「([^「」]{1,4000})」|『([^『』]{1,4000})』|(?<![\p{L}\p{N}])"([^"\n]{1,4000})"(?![\p{L}\p{N}])/gu

function quotesIn(text: string): string[] {
  const bare = withoutFences(text).replace(/`[^`\n]*`/g, '')
  const lines = [...bare.matchAll(/(?:^ {0,3}>[^\n]*(?:\n|$))+/gm)].map(([block]) =>
    block.replace(/^ {0,3}> ?/gm, ''),
  )
  const inline = bare.replace(/^ {0,3}>[^\n]*$/gm, '')
  return [
    ...lines.flatMap((block) => block.split(/\n[ \t]*\n/)),
    ...[...inline.matchAll(marked)].map((match) => match.slice(1).find((part) => part !== undefined) ?? ''),
  ]
}

/** The text without its fenced blocks. */
function withoutFences(text: string): string {
  let fence = ''
  const kept: string[] = []
  for (const line of text.split('\n')) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1] ?? ''
    if (fence === '' && mark !== '') fence = mark
    else if (fence !== '' && mark.startsWith(fence) && line.trim() === mark) fence = ''
    else if (fence === '') kept.push(line)
  }
  return kept.join('\n')
}

const plain = (text: string): string =>
  text
    .replace(/[“”„«»「」『』‘’]/g, (mark) => ('‘’'.includes(mark) ? "'" : '"'))
    .replace(/[‐-―]/g, '-')
    .replace(/\*{1,3}|(?<![\p{L}\p{N}])_{1,2}|_{1,2}(?![\p{L}\p{N}])/gu, '')
    .replace(/^"|"$/g, '')
    .replace(/\s+/g, ' ')
    .trim()

function occurs(quote: string, text: string): boolean {
  let at = 0
  for (const part of quote.split(/\[?(?:…{1,2}|\.{3})\]?/).map((each) => plain(each))) {
    const found = text.indexOf(part, at)
    if (found === -1) return false
    at = found + part.length
  }
  return true
}

// The checks `numbers_from_tools` and `numbers_from_dependencies`: does every figure of the output occur in a
// result of the named tools, or in what the node was given? Without a successful call of these tools nothing
// passes, because then nothing was read.

function numbersVerdict(
  requirement: MachineRequirement & { kind: 'numbers_from_tools' },
  facts: RunFacts,
): Verdict {
  const toolNames = requirement.tools.join(' or ')
  const calls = facts.tools.filter((fact) => fact.success && requirement.tools.includes(fact.tool))
  if (calls.length === 0)
    return {
      passed: false,
      detail: `No call of ${toolNames} succeeded, so no number of the output can come from one.`,
      restsOn: [facts.outputSeq],
    }
  const sources = calls.flatMap(({ taskseq, result }) =>
    result === undefined ? [] : [{ seq: taskseq, texts: resultTexts(result) }],
  )
  return figuresVerdict(requirement, facts, {
    sources,
    none: `in no result of ${toolNames}`,
    some: `in results of ${toolNames}`,
    against: `the results of ${toolNames}`,
  })
}

function givenNumbersVerdict(
  requirement: MachineRequirement & { kind: 'numbers_from_dependencies' },
  facts: RunFacts,
): Verdict {
  const { outputs = [], texts = [] } = facts.given ?? {}
  const sources = [...outputs, ...texts].map((text) => ({ seq: 0, texts: resultTexts(text) }))
  const sourceName = 'what the node was given'
  return figuresVerdict(requirement, facts, {
    sources,
    none: `nowhere in ${sourceName}`,
    some: `in ${sourceName}`,
    against: sourceName,
  })
}

interface Sources {
  readonly sources: readonly { readonly seq: number; readonly texts: readonly string[] }[]
  /** For the detail. */
  readonly none: string
  readonly some: string
  readonly against: string
}

function figuresVerdict(
  { allow = [], integers_below = 0 }: { allow?: number[] | undefined; integers_below?: number | undefined },
  facts: RunFacts,
  { sources, none, some, against }: Sources,
): Verdict {
  const known = new KnownFigures()
  known.allow(allow.map(valueOf))
  const stated = statedMagnitudes(facts.outputText)
  const free = (figure: Figure): boolean => figure.plainInteger && Number(firstValue(figure)) < integers_below
  const judged = figuresIn(withoutListNumbers(facts.outputText)).filter(
    (figure) => !free(figure) && !known.has(figure, stated),
  )
  const read: number[] = []
  /** The sources in which a figure of the output was found. */
  const used: number[] = []
  let open = judged
  for (const { seq, texts } of sources) {
    if (open.length === 0) break
    for (const text of texts) known.learn(text)
    const left = open.filter((figure) => !known.has(figure, stated))
    read.push(seq)
    if (left.length < open.length) used.push(seq)
    open = left
  }
  const shown = [...new Set(open.map((figure) => figure.shown))]
  const detail =
    open.length > 0
      ? `${shown.length === 1 ? 'A number of the output stands' : `${shown.length} numbers of the output stand`} ${none}: ${listed(shown)}.`
      : judged.length === 0
        ? `The output contains no number to check against ${against}.`
        : `${judged.length === 1 ? 'The number' : `All ${judged.length} numbers`} of the output ${judged.length === 1 ? 'stands' : 'stand'} ${some}.`
  return {
    passed: open.length === 0,
    detail,
    restsOn: [facts.outputSeq, ...(open.length === 0 ? used : read)],
  }
}

function firstValue({ readings }: Figure): string {
  const atom = readings[0]?.[0]
  return atom?.kind === 'value' ? atom.value : 'NaN'
}
