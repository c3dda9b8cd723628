// The simulated model: a pure function from a request to an assistant message. The same request gives the
// same answer. It is no language model: it follows a skill's guidance, calls the tools that an instruction
// names, writes up their results, chooses a skill by its words, and answers in the form that a team's leader
// is asked for.
import type { ToolSchema } from '@beaver/agent'
import type { ChatMessage } from '@beaver/core'
import { chooseSkill } from './choose-skill.ts'
import { readConversation } from './conversation.ts'
import { coordinate } from './coordinate.ts'
import { followGuidance } from './guidance.ts'
import { type Habit, say, type SimulatedReply } from './habit.ts'
import { simulatedModelName } from './simulated-model-name.ts'
import { work } from './work.ts'

export interface SimulatedRequest {
  readonly messages: readonly ChatMessage[]
  readonly tools: readonly ToolSchema[]
}

export function answer(request: SimulatedRequest): SimulatedReply {
  const chosen = chooseSkill(request.messages)
  if (chosen !== null) return chosen
  const conversation = readConversation(request.messages, request.tools)
  for (const habit of habits) {
    const reply = habit(conversation)
    if (reply !== null) return reply
  }
  return say('')
}

const introduce: Habit = ({ userText, calls }) => {
  const task = userText.replace(/\s+/g, ' ').trim()
  const shown = task.length > 300 ? `${task.slice(0, 300).toWellFormed()}…` : task
  const done = calls.filter((call) => call.result !== null).map((call) => call.name)
  return say(
    [
      `This is Beaver's simulated model (${simulatedModelName}). It follows the guidance of an activated skill and drives real tools, but it cannot reason about a task of its own.`,
      shown === '' ? 'No task was given.' : `The task was: ${shown}`,
      ...(done.length === 0 ? [] : [`Tools called so far: ${done.join(', ')}.`]),
      'Activate a skill with a team workflow, such as folder-report, or set OPENAI_API_KEY to use a real model.',
    ].join('\n\n'),
  )
}

/** The first habit that has a reply answers. */
const habits: readonly Habit[] = [followGuidance, coordinate, work, introduce]
