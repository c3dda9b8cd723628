// The `edges` field of GraphWorkflow as a model may have written it: the forms it really produces get the right spelling.
import { isRecord, parsedJson } from './spelling.ts'
import { type Refusal, refuse } from './workflow-error.ts'
import { copiedCharsMax, quote } from './wording.ts'

const example = '[["collector", "writer"]]'

/** What is wrong with the shape of `edges`; whether the names exist is asked later. */
export function edgeListFault(edges: unknown): Refusal | null {
  if (edges === undefined || edges === null) {
    return refuse(
      'edges_required',
      'edges',
      `"edges" is missing. Write an array of [from, to] pairs of agent names, for example ${example}; for a single agent write [].`,
    )
  }
  if (!Array.isArray(edges)) return refuse('edges_shape', 'edges', `"edges" is ${quote(edges)}, but must be an array of [from, to] pairs. ${listAdvice(edges)}`)
  for (const [index, edge] of edges.entries()) {
    if (Array.isArray(edge) && edge.length === 2 && edge.every((end) => typeof end === 'string')) continue
    return refuse('edges_shape', `edges.${index}`, `Edge ${index} is ${quote(edge)}, but must be a [from, to] pair of agent names. ${pairAdvice(edge, edges)}`)
  }
  return null
}

function listAdvice(edges: unknown): string {
  if (typeof edges === 'string') {
    const pair = arrowPair(edges)
    if (typeof parsedJson(edges) === 'object') return 'It is JSON text inside a string: write the array itself, without quotes around it.'
    return `Write ${pair === null ? example : quote([pair], copiedCharsMax)}.`
  }
  const pairs = isRecord(edges)
    ? Object.entries(edges).flatMap(([from, to]) => (Array.isArray(to) ? (to as unknown[]) : [to]).map((each): [string, unknown] => [from, each]))
    : []
  return `Write ${pairs.length > 0 && pairs.every(([, to]) => typeof to === 'string') ? quote(pairs, copiedCharsMax) : example}.`
}

const endNames = [
  ['from', 'to'],
  ['source', 'target'],
  ['src', 'dst'],
  ['start', 'end'],
  ['parent', 'child'],
] as const

function pairAdvice(edge: unknown, edges: readonly unknown[]): string {
  if (isRecord(edge)) {
    const ends = endNames.map(([from, to]) => [edge[from], edge[to]]).find((pair) => pair.every((end) => typeof end === 'string'))
    return ends === undefined ? `Write ["<from>", "<to>"].` : `Write ${quote(ends)}.`
  }
  if (typeof edge === 'string') {
    const pair = arrowPair(edge)
    if (pair !== null) return `Write ${quote(pair)}.`
    if (typeof parsedJson(edge) === 'object') return 'It is JSON text inside a string: write the pair itself, without quotes around it.'
    return edges.length === 2 && edges.every((each) => typeof each === 'string')
      ? `Put the pair into a list of its own: [${quote(edges)}].`
      : 'Write ["<from>", "<to>"].'
  }
  if (Array.isArray(edge) && edge.length > 2 && edge.every((end) => typeof end === 'string')) {
    return `Write one pair per edge: ${edge
      .slice(1)
      .map((to, index) => quote([edge[index], to]))
      .join(', ')}.`
  }
  return 'Write ["<from>", "<to>"].'
}

/** `a -> b`, in whatever arrow, as a pair. */
function arrowPair(text: string): [string, string] | null {
  const ends = text.split(/\s*(?:[-=]*>|[\u2192\u21d2\u27f6\u27f9\u2794\u279c\u27a1])\s*/u).map((end) => end.trim())
  const [from, to] = ends
  return ends.length === 2 && from !== undefined && to !== undefined && from !== '' && to !== '' ? [from, to] : null
}
