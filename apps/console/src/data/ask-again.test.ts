import { QueryClient, QueryObserver } from '@tanstack/react-query'
import { held, until } from '@beaver/testing'
import { afterEach, expect, test } from 'vitest'
import { askingAgain } from './ask-again.ts'

const clients: QueryClient[] = []
afterEach(() => {
  for (const client of clients.splice(0)) client.clear()
})

/** A page that shows one task, and a gateway that answers when the test says so. */
function page() {
  const client = new QueryClient()
  clients.push(client)
  const stop = new AbortController()
  const asked: ReturnType<typeof held<string>>[] = []
  const observer = new QueryObserver(client, {
    queryKey: ['task', 't'],
    queryFn: () => {
      const answer = held<string>()
      asked.push(answer)
      return answer.promise
    },
    retry: false,
  })
  const leave = observer.subscribe(() => {})
  stop.signal.addEventListener('abort', leave)
  const again = askingAgain(client, stop.signal)
  return {
    asked,
    stop,
    shown: () => observer.getCurrentResult().data,
    changed: (task = 't') => again((name, id) => name === 'task' && id === task),
  }
}

test('a change asks again', async () => {
  const { asked, shown, changed } = page()
  asked[0]?.settle('running')
  await until('it is shown', () => shown() === 'running')
  changed()
  expect(asked).toHaveLength(2)
  asked[1]?.settle('completed')
  await until('it is shown', () => shown() === 'completed')
  changed('other')
  expect(asked).toHaveLength(2)
})

test('a change while an answer is under way is not lost, and many are asked for once', async () => {
  const { asked, shown, changed } = page()
  changed()
  changed()
  expect(asked).toHaveLength(1)
  asked[0]?.settle('running')
  await until('it is asked again', () => asked.length === 2)
  asked[1]?.settle('completed')
  await until('it is shown', () => shown() === 'completed')
  expect(asked).toHaveLength(2)
})

test('a change while an answer fails is not lost either', async () => {
  const { asked, shown, changed } = page()
  changed()
  asked[0]?.fail(new Error('away'))
  await until('it is asked again', () => asked.length === 2)
  asked[1]?.settle('completed')
  await until('it is shown', () => shown() === 'completed')
})

test('a page that is gone asks for nothing', async () => {
  const { asked, stop, changed } = page()
  changed()
  stop.abort()
  asked[0]?.settle('running')
  await new Promise(setImmediate)
  expect(asked).toHaveLength(1)
})
