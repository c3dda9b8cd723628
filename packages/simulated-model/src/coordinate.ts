// The habit of a leader: it answers the request for a plan, a delegation, a speaker or a bid in the given
// form, with the given names. It makes no judgement.
import { parseJson } from './conversation.ts'
import { type Habit, say, type WorkOrder } from './habit.ts'
import { writeUp } from './write-up.ts'
import { readKnown } from './known.ts'

export const coordinate: Habit = ({ order, calls }) => {
  if (order === null) return null
  const { instruction } = order
  const form = /\bJSON only\b/.test(instruction)
  if (form && instruction.includes('{"plan":')) return sayJson({ plan: planOf(order) })
  if (form && instruction.includes('{"final":')) {
    if (order.dependencies.length === 0 && instruction.includes('{"delegations":'))
      return sayJson({ delegations: delegationsOf(order) })
    return sayJson({ final: writeUp(order, calls, readKnown(order, calls)) })
  }
  const [, speakers] = /\{"next": "<name>"\}, one of ([^\n]+?)\.(?:\n|$)/.exec(instruction) ?? []
  if (speakers !== undefined) return sayJson({ next: inTurn(quotedIn(speakers), instruction) })
  return instruction.includes('Bid for this turn') ? say(String(bidOf(instruction))) : null
}

const sayJson = (value: unknown): ReturnType<typeof say> => say(JSON.stringify(value))

interface Shown {
  readonly name: string
  readonly does: string
  readonly tools: boolean
}

/** The list under "Members:" or "Workers:". */
function shownIn(instruction: string): Shown[] {
  const [, list = ''] = /(?:Members|Workers):\n((?:- .*(?:\n(?!- |\n).*)*\n?)+)/.exec(instruction) ?? []
  return list.split(/\n(?=- )/).flatMap((entry) => {
    const [, name = '', does = ''] =
      /^- ([^:\n(]+?)(?::\s*([\s\S]*?))?(?:\s\(tools: [^)]*\))?\s*$/.exec(entry) ?? []
    return name === '' ? [] : [{ name, does: does.trim(), tools: !entry.includes('(tools: none)') }]
  })
}

/** Members with tools begin at the same time, and members without tools wait for them. */
function planOf(order: WorkOrder): object[] {
  const members = shownIn(order.instruction)
  const first = members.filter(({ tools }) => tools)
  return members.map(({ name, does, tools }) => ({
    member: name,
    task: does === '' ? order.task : does,
    depends_on: tools ? [] : first.map((each) => each.name),
  }))
}

const delegationsOf = (order: WorkOrder): object[] =>
  shownIn(order.instruction).map(({ name, does }) => ({
    worker: name,
    instruction: does === '' ? order.task : does,
    depends_on: [],
  }))

const quotedIn = (list: string): string[] =>
  [...list.matchAll(/"(?:[^"\\]|\\.)*"/g)].map(([quoted]) => String(parseJson(quoted)))

const turnIn = (instruction: string): number => Number(/This is turn (\d{1,6}) /.exec(instruction)?.[1] ?? 1)

const inTurn = (names: readonly string[], instruction: string): string =>
  names[(turnIn(instruction) - 1) % names.length] ?? ''

/** The highest bid rotates. */
function bidOf(instruction: string): number {
  const [, self = '', list = ''] =
    /You are (.+?), in a discussion between (.+?)\. This is turn/.exec(instruction) ?? []
  const names = list.split(', ')
  const place = Math.max(0, names.indexOf(self))
  const after = (place - (turnIn(instruction) - 1)) % names.length
  return Math.max(0, 100 - 10 * ((after + names.length) % names.length))
}
