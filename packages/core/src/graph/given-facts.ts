// What a node, or the authors of a team's final output, were given: their texts are checked against it. It
// contains the outputs that a node is shown and the texts of others in its instruction, never the checked
// text itself.
import type { GivenFact } from '../evidence/run-facts.ts'
import type { FramedText } from '../fold/frame.ts'
import type { JsonObject, JsonValue } from '../json.ts'
import type { ExecutionGraph, ExecutionNode } from './execution-graph.ts'

/** A team, as far as one has to know it to say what its nodes were given. */
export interface GivingTeam {
  readonly graph: ExecutionGraph
  /** What the program gave the node; `null`: nothing. */
  inputOf(nodeId: string): JsonObject | null
  /** `null`: the node has no output. */
  outputOf(nodeId: string): string | null
}

/** What a node was given. */
export function givenTo(team: GivingTeam, node: ExecutionNode): GivenFact {
  const input = team.inputOf(node.node_id)
  const shown = input?.['dependency_outputs']
  const outputs = node.depends_on
    .filter((id) => !Array.isArray(shown) || shown.includes(id))
    .flatMap((id) => team.outputOf(id) ?? [])
  const instruction = givenInstruction(input) ?? (node.kind === 'agent' ? node.instruction : '')
  const parts = typeof instruction === 'string' ? [instruction] : instruction
  const values = parts.flatMap((part) => (typeof part === 'string' ? [] : [part.value]))
  return {
    outputs: [...outputs, ...values],
    texts: [team.graph.task, ...parts.filter((part) => typeof part === 'string')],
  }
}

/**
 * What the authors of the team's final output were given. A code node is no author: it passes on what others
 * said.
 *
 * @example
 * const team = { graph, inputOf: () => null, outputOf: (id: string) => `${id} says` }
 * materialOf(team).outputs // => ['researcher says']
 */
export function materialOf(team: GivingTeam): GivenFact {
  const materials = authorsOf(team.graph).map((node) => givenTo(team, node))
  return {
    outputs: [...new Set(materials.flatMap(({ outputs }) => outputs))],
    texts: [...new Set(materials.flatMap(({ texts }) => texts))],
  }
}

/**
 * The agents and tools from which the final output of a graph comes, in declared order.
 *
 * @example
 * authorsOf(graph).map(({ node_id }) => node_id) // => ['writer']
 */
export function authorsOf({ nodes, output, outputs }: ExecutionGraph): ExecutionNode[] {
  const known = new Map(nodes.map((node) => [node.node_id, node]))
  const seen = new Set<string>()
  const open = output === null ? [...outputs] : [output]
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (seen.has(id)) continue
    seen.add(id)
    const node = known.get(id)
    if (node?.kind === 'code') open.push(...node.depends_on)
  }
  return nodes.filter((node) => node.kind !== 'code' && seen.has(node.node_id))
}

/**
 * The instruction that a program gave a node with its input. `null`: the node has the instruction of the
 * graph.
 *
 * @example
 * givenInstruction({ instruction: ['Sum up ', { value: 'Twice a day.' }] }) // => ['Sum up ', { value: 'Twice a day.' }]
 */
export function givenInstruction(input: JsonObject | null): FramedText | null {
  const instruction = input?.['instruction']
  if (typeof instruction === 'string') return instruction
  if (!Array.isArray(instruction)) return null
  return instruction.map((part: JsonValue) => (typeof part === 'string' ? part : { value: valueOf(part) }))
}

function valueOf(part: JsonValue): string {
  if (typeof part !== 'object' || part === null || Array.isArray(part)) return ''
  const { value } = part as JsonObject
  return typeof value === 'string' ? value : ''
}
