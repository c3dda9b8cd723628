// A graph as a Mermaid flowchart, for people.
// M1. Ids are n0, n1 …: no agent name can be a keyword or break the syntax. M2. In a label everything but letters, digits,
//     spaces and _ - . is an entity code; so is what Markdown would take for a list. M3. Outputs are drawn rounded.
import type { ExecutionGraph } from '@beaver/core'

/** @example graphToMermaid(graph) // 'flowchart TD\n  n0["collector"]\n  n1(["writer"])\n  n0 --> n1\n' */
export function graphToMermaid(graph: Pick<ExecutionGraph, 'nodes' | 'outputs'>): string {
  const ids = new Map(graph.nodes.map((node, index) => [node.node_id, `n${index}`]))
  const outputs = new Set(graph.outputs)
  const lines = ['flowchart TD']
  for (const { node_id: name } of graph.nodes) lines.push(`  ${ids.get(name)}${outputs.has(name) ? `(["${label(name)}"])` : `["${label(name)}"]`}`)
  for (const node of graph.nodes) for (const from of node.depends_on) lines.push(`  ${ids.get(from)} --> ${ids.get(node.node_id)}`)
  return `${lines.join('\n')}\n`
}

function label(name: string): string {
  const code = (char: string): string => `#${char.codePointAt(0)};`
  return name.toWellFormed().replaceAll(/[^\p{L}\p{M}\p{Nd} _.-]|^-|(?<=^\d+)\./gu, code)
}
