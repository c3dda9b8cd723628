/** The simulated model's name. It shows in journals and reports that no language model was asked. */
export const simulatedModelName = 'beaver-simulated-1'
