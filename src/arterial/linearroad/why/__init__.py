"""Why a vehicle was answered as it was: quoted, charged, alerted, told its balance; with the rules by number.

All numbers are the validator's (`validate.expected`); here they are only looked up and put into words. Others import
`why` from `explain`. Begin with `explain`, then `concerned` and `account`.
"""
