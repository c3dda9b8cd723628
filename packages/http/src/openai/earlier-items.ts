// Items of earlier responses that a client names instead of sending them again: `item_reference`. The AI SDK
// does so for everything that it got from a response. An item is in the log of its task, and its id names it.
import { askInOutput, evolveTaskView, newTaskView, type TaskView } from '@beaver/core/task-view'
import { reaches } from '../access.ts'
import { clientCallId } from '../client-calls.ts'
import type { Asker } from '../host.ts'
import { invalid, type Turn } from './conversation.ts'
import { OpenAiError } from './openai-error.ts'
import { questionText } from './open-question.ts'
import { isWhole } from './response-object.ts'

/** The place of an item: its number in the output of a task, or the place of a call in its log. */
interface Named {
  readonly kind: 'msg' | 'mcp' | 'fc'
  readonly taskId: string
  readonly at: number
}

function namedBy(id: string): Named | null {
  const [, kind, taskId, index] = /^(msg|mcp)_(.{1,128})_(\d{1,9})$/s.exec(id) ?? []
  if (taskId !== undefined) return { kind: kind as 'msg' | 'mcp', taskId, at: Number(index) }
  const [, requestedAt, task] = /^fc_(\d{1,15})_(.{1,128})$/s.exec(id) ?? []
  return task === undefined ? null : { kind: 'fc', taskId: task, at: Number(requestedAt) }
}

const tasksMax = 200

/** The items that the input of a request names. */
export class EarlierItems {
  readonly #views: ReadonlyMap<string, TaskView>

  private constructor(views: ReadonlyMap<string, TaskView>) {
    this.#views = views
  }

  /** Reads the tasks of the items. @throws {OpenAiError} `invalid_value` if there are too many */
  static async of(
    input:
      | string
      | readonly { readonly type?: string | null | undefined; readonly id?: string | null | undefined }[],
    { host, caller }: Asker,
  ): Promise<EarlierItems> {
    const views = new Map<string, TaskView>()
    if (typeof input === 'string') return new EarlierItems(views)
    const taskIds = new Set(
      input.flatMap(({ type, id }) => {
        const named = type === 'item_reference' ? namedBy(id ?? '') : null
        // What a tool of the profile returned is not given again: the agent gets the text that resulted.
        return named === null || named.kind === 'mcp' ? [] : [named.taskId]
      }),
    )
    if (taskIds.size > tasksMax)
      throw invalid(
        'input',
        `The items of "input" name ${taskIds.size} responses. They may name ${tasksMax}. Send "previous_response_id", or the items themselves.`,
      )
    for (const taskId of taskIds) {
      let view: TaskView | null = null
      for await (const event of host.client().events(taskId)) {
        if (view === null) {
          if (event.type !== 'task_submitted' || !reaches(caller, event.data.request.user_id)) break
          view = newTaskView({ whole: isWhole(event.data), byForm: true })
        }
        evolveTaskView(view, event)
      }
      if (view === null) continue
      const [asked] = view.openQuestions
      if (asked !== undefined) askInOutput(view.output, questionText(taskId, asked, caller))
      views.set(taskId, view)
    }
    return new EarlierItems(views)
  }

  /** The turn of an item. Empty: the agent needs it not. @throws {OpenAiError} if there is no such item */
  turn(id: string, at: string): Turn[] {
    const named = namedBy(id)
    if (named?.kind === 'mcp') return []
    const items = named === null ? [] : (this.#views.get(named.taskId)?.output.items ?? [])
    if (named?.kind === 'msg') {
      const item = items[named.at]
      if (item?.kind === 'text') return [{ role: 'assistant', content: item.text, at }]
    } else if (named !== null) {
      const item = items.find((each) => each.kind === 'call' && each.requestedAt === named.at)
      if (item?.kind === 'call') {
        const callId = clientCallId(named.taskId, { requestedAt: named.at })
        const call = { id: callId, name: item.name, arguments: item.arguments }
        return [{ role: 'assistant', content: null, at, calls: [call] }]
      }
    }
    throw new OpenAiError(
      400,
      'invalid_value',
      `${at} names the item ${JSON.stringify(id)}, and there is none. Send the item itself, or "previous_response_id".`,
      { param: `${at}.id` },
    )
  }
}
