// What a worker of the simulated model writes at its end, chosen by what it came to know.
import { failureIn, parseJson } from './conversation.ts'
import { describeFolder } from './describe-folder.ts'
import { folderReport } from './folder-report.ts'
import type { MadeCall, WorkOrder } from './habit.ts'
import type { Known } from './known.ts'
import { verdict } from './verdict.ts'

export function writeUp(order: WorkOrder, calls: readonly MadeCall[], known: Known): string {
  const parts = [...body(order, calls, known), ...known.failures.map(({ tool, code, message }) => `The tool ${tool} failed: ${message} (${code})`)]
  return parts.join('\n\n')
}

function body(order: WorkOrder, calls: readonly MadeCall[], known: Known): string[] {
  const resultOf = (tool: string): string | undefined =>
    calls.findLast((call) => call.name === tool && call.result !== null && failureIn(call.result) === null)?.result ?? undefined
  const received = known.receivedJson.map(jsonBlock)
  const recounted = resultOf('recount_files')
  if (recounted !== undefined && known.recount !== null) return [...received, jsonBlock(recounted), verdict(known.recount)]
  const counted = resultOf('file_stats')
  if (counted !== undefined && known.stats !== null) return [...received, jsonBlock(counted), extremes(known.stats)]
  if (resultOf('list_files') !== undefined && known.list !== null) return [jsonBlock(JSON.stringify({ folder: describeFolder(known.list, known.parts) }))]
  if (calls.length === 0 && known.stats !== null) return [folderReport(known)]
  return [...results(calls), ...(known.failures.length > 0 || calls.some((call) => call.result !== null) ? received : handedOn(order))]
}

function extremes({ types, largest }: NonNullable<Known['stats']>): string {
  const [type] = types
  const [file] = largest
  if (type === undefined || file === undefined) return 'The folder holds no files.'
  return `The type with the most bytes is ${type.type} (${type.bytes}); the largest file is ${file.path} (${file.bytes} bytes).`
}

const jsonBlock = (text: string): string => `\`\`\`json\n${text}\n\`\`\``

function results(calls: readonly MadeCall[]): string[] {
  return calls.flatMap(({ name, result }) => {
    if (result === null || failureIn(result) !== null) return []
    return [`Result of ${name}:`, parseJson(result) === undefined ? result : jsonBlock(result)]
  })
}

function handedOn(order: WorkOrder): string[] {
  const task = order.task.replace(/\s+/g, ' ').trim()
  const note = `Beaver's simulated model followed fixed habits here; it cannot reason about the instruction itself.`
  if (order.dependencies.length === 0) return [`${note} The task was: ${task || order.instruction}`]
  return [`Task: ${task}`, ...order.dependencies.flatMap(({ from, text }) => [`## ${from}`, text.trim()]), note]
}
