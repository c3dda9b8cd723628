// Draws a graph as a Mermaid flowchart, for people. Ids are n0, n1 …, and labels use entity codes, so no
// agent name can be a keyword or break the syntax. Outputs are rounded, a tool's call is a subroutine, a
// computed node a hexagon; an arrow to a node with a quorum is dotted.
import type { ExecutionGraph } from '@beaver/core/graph'

/**
 * The graph as a flowchart of Mermaid. Nodes whose outputs are outputs of the team have rounded corners.
 *
 * @example
 * graphToMermaid(graph) // => 'flowchart TD\n  n0["researcher"]\n  n1(["writer"])\n  n0 --> n1\n'
 */
export function graphToMermaid(graph: Pick<ExecutionGraph, 'nodes' | 'outputs'>): string {
  const ids = new Map(graph.nodes.map((node, index) => [node.node_id, `n${index}`]))
  const outputs = new Set(graph.outputs)
  const lines = ['flowchart TD']
  for (const { node_id: name, kind } of graph.nodes) {
    const [open, close] = outputs.has(name) ? shapes.output : shapes[kind]
    lines.push(`  ${ids.get(name)}${open}"${label(name)}"${close}`)
  }
  for (const node of graph.nodes) {
    const arrow = node.quorum === undefined || node.quorum >= node.depends_on.length ? '-->' : '-.->'
    for (const from of node.depends_on) lines.push(`  ${ids.get(from)} ${arrow} ${ids.get(node.node_id)}`)
  }
  return `${lines.join('\n')}\n`
}

const shapes = { output: ['([', '])'], agent: ['[', ']'], tool: ['[[', ']]'], code: ['{{', '}}'] } as const

function label(name: string): string {
  const code = (char: string): string => `#${char.codePointAt(0)};`
  return name.toWellFormed().replaceAll(/[^\p{L}\p{M}\p{Nd} _.-]|^-|(?<=^\d+)\./gu, code)
}
