"""Money inside is an integer of micro-cents (1e-8 dollar); dollars exist only at the edge."""

from decimal import ROUND_HALF_EVEN, Decimal

MICRO_CENTS_PER_CENT = 1_000_000
MICRO_CENTS_PER_DOLLAR = 100 * MICRO_CENTS_PER_CENT


def from_dollars(amount: Decimal) -> int:
    """Micro-cents of a dollar amount, rounded half to even once."""
    return int((amount * MICRO_CENTS_PER_DOLLAR).to_integral_value(ROUND_HALF_EVEN))


def to_dollars(micro_cents: int) -> Decimal:
    return Decimal(micro_cents) / MICRO_CENTS_PER_DOLLAR


def cents(micro_cents: int) -> int:
    """Whole cents, rounded half to even: for showing sums, never for adding up."""
    return int((Decimal(micro_cents) / MICRO_CENTS_PER_CENT).to_integral_value(ROUND_HALF_EVEN))


def known(micro_cents: int, unpriced: int) -> dict[str, int | str] | None:
    """A sum that leaves ``unpriced`` calls out: None where it knows no price at all, for that is not nothing."""
    return None if unpriced and not micro_cents else shown(micro_cents)


def shown(micro_cents: int) -> dict[str, int | str]:
    """The contract's money object: ``{"amount_cents", "amount" (exact dollars), "currency"}``."""
    return {
        "amount_cents": cents(micro_cents),
        "amount": f"{to_dollars(micro_cents):.8f}",
        "currency": "USD",
    }
