// Writes the final text of a worker of the simulated model. What the worker knows decides the form.
import { failureIn, parseJson } from './conversation.ts'
import { describeFolder } from './describe-folder.ts'
import { folderReport } from './folder-report.ts'
import type { MadeCall, WorkOrder } from './habit.ts'
import type { Known } from './known.ts'
import { aboutPages, aboutReceived } from './page-report.ts'
import { pageIn } from './pages.ts'
import { verdict } from './verdict.ts'

export function writeUp(order: WorkOrder, calls: readonly MadeCall[], known: Known): string {
  const parts = [
    ...body(order, calls, known),
    ...known.failures.map(({ tool, code, message }) => `The tool ${tool} failed: ${message} (${code})`),
    ...vote(order),
  ]
  return parts.join('\n\n')
}

function body(order: WorkOrder, calls: readonly MadeCall[], known: Known): string[] {
  const resultOf = (tool: string): string | undefined =>
    calls.findLast((call) => call.name === tool && call.result !== null && failureIn(call.result) === null)
      ?.result ?? undefined
  const received = known.receivedJson.map(jsonBlock)
  const recounted = resultOf('recount_files')
  if (recounted !== undefined && known.recount !== null)
    return [...received, jsonBlock(recounted), verdict(known.recount)]
  const counted = resultOf('file_stats')
  if (counted !== undefined && known.stats !== null)
    return [...received, jsonBlock(counted), extremes(known.stats)]
  if (order.instruction.includes('"folder"') && known.list !== null)
    return [jsonBlock(JSON.stringify({ folder: describeFolder(known.list, known.parts) }))]
  if (calls.length === 0 && known.stats !== null) return [folderReport(known)]
  // The record shows how the pages were found. The work is what they say.
  if (known.pages.length > 0) return aboutPages(order, known.pages)
  const said = results(calls)
  if (said.length > 0 || known.failures.length > 0) return [...said, ...received]
  return handedOn(order)
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
    if (result === null || failureIn(result) !== null || pageIn(result) !== null) return []
    return [`Result of ${name}:`, parseJson(result) === undefined ? result : jsonBlock(result)]
  })
}

const note = `Beaver's simulated model followed fixed habits here; it cannot reason about the instruction itself.`

function handedOn(order: WorkOrder): string[] {
  const { task, instruction, dependencies } = order
  if (dependencies.length === 0)
    return [`${note} The task was: ${task.replace(/\s+/g, ' ').trim() || instruction}`]
  if (instruction.includes('do not repeat what was said'))
    return [`${note} Heard before: ${dependencies.map(({ from }) => from).join(', ')}.`]
  return aboutReceived(order, note)
}

/** A voter has no opinion: it takes the first option. */
function vote({ instruction }: WorkOrder): string[] {
  if (!instruction.includes('"VOTE: ')) return []
  const [, first] =
    /The options, one of which you must write exactly: ("(?:[^"\\]|\\.)*")/.exec(instruction) ?? []
  return [`VOTE: ${first === undefined ? 'no opinion' : String(parseJson(first))}`]
}
