"""Why an output differs: each difference goes to the rule whose other reading gives what came (decision 33).

Begin with `alternatives`: the profiles that are tried. `changes` says what each of them would answer differently,
`evidence` which differences that explains, `attribution` which rule each of them is counted under.
"""
