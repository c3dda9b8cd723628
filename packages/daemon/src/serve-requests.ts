// Serves the requests that any daemon answers, each by its contract.
// R1. A handler gets a request that fits its contract, with the contract's defaults. Any other request is refused before.
// R2. The compiler checks that an answer fits the contract, so it is not checked again at run time. The client reads it by the same contract.
import { requestContracts, type RequestName, type RequestOutput, type RequestRead } from '@beaver/contracts'
import { parseRequest, type Subjects } from '@beaver/nats'
import type { GatedService } from './while-healthy.ts'

/** The name of each request in the message that refuses it. */
const calledAs: Readonly<Record<RequestName, string>> = {
  'task.submit': 'task',
  'task.run': 'task',
  'task.cancel': 'cancel request',
  'task.decide': 'decision',
  'task.retry': 'retry request',
  status: 'status request',
}

type Handle<Name extends RequestName> = (asked: RequestRead<Name>) => Promise<RequestOutput<Name>>

/** Serves the request of a name until `stop`. */
export type ServeRequest = <Name extends RequestName>(name: Name, handle: Handle<Name>, options?: { openMax?: number }) => { stop(): Promise<void> }

export function serveRequests(serving: GatedService, subjects: Subjects): ServeRequest {
  return (name, handle, options) =>
    serving(subjects.service(name), (request) => handle(parseRequest(requestContracts[name].input, request, calledAs[name])), options)
}
